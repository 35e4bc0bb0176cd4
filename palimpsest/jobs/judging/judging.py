"""A model with its two tasks in a run: sorting notes, then judging text. One budget, one record of what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from palimpsest.core.matter import Matter
from palimpsest.jobs.judging import fence
from palimpsest.jobs.judging.asking import ITEMS_AT_ONCE, TOKENS_AT_ONCE, Asked, Asking, tokens_of
from palimpsest.jobs.judging.chooser import ModelChooser
from palimpsest.jobs.judging.judge import Given, ModelJudge, RulesBefore
from palimpsest.jobs.judging.prompts import Prompt
from palimpsest.ports import LanguageModel


class Judging:
    """A language model at work in a consolidation. It can be sent to another process before it is first asked."""

    def __init__(
        self,
        model: LanguageModel,
        *,
        restated: Prompt,
        sorting: Prompt,
        tokens_at_once: int = TOKENS_AT_ONCE,
        items_at_once: int = ITEMS_AT_ONCE,
    ) -> None:
        self.asking = Asking(model, tokens_at_once=tokens_at_once, items_at_once=items_at_once)
        self.judge = ModelJudge(self.asking, restated)
        self.rules = RulesBefore(self.judge)
        self.chooser = ModelChooser(self.asking, sorting)

    @property
    def asked(self) -> Asked:
        """What came of it so far."""
        return self.asking.asked

    def would_ask(self, clusters: Given) -> Asked:
        """What it would be asked about clusters: how many items, in about how many requests and tokens to read."""
        found = [self.judge.matter(cluster, so_far) for cluster, so_far in clusters]
        matters: Sequence[Matter] = [matter for matter in found if matter is not None]
        form = self.judge.form
        calls = sum(1 for _ in self.asking.batches(form, matters))
        tokens = sum(tokens_of(form, matter) for matter in matters) + calls * fence.tokens_of(form.prompt.instructions)
        return replace(self.asked, items=len(matters), calls=calls, input_tokens=tokens)

    def close(self) -> None:
        """Give back the model's connections."""
        self.asking.model.close()


def together(several: Sequence[Asked]) -> Asked:
    """What was asked by several in one: their sums, and the first problem that one of them had."""
    left: dict[str, int] = {}
    for one in several:
        for reason, count in one.left.items():
            left[reason] = left.get(reason, 0) + count
    costs = [one.cost for one in several if one.cost is not None]
    stopped = next((one for one in several if one.problem), several[0])
    return Asked(
        model=several[0].model,
        items=sum(one.items for one in several),
        answered=sum(one.answered for one in several),
        left=left,
        calls=sum(one.calls for one in several),
        input_tokens=sum(one.input_tokens for one in several),
        output_tokens=sum(one.output_tokens for one in several),
        cost=sum(costs) if len(costs) == len(several) else None,
        problem=stopped.problem,
        hint=stopped.hint,
        bad=next((one.bad for one in several if one.bad), ""),
    )
