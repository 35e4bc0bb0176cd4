"""A language model as a judge: it holds opinions on matters of text, and code makes verdicts of them.

It is asked about what rules do not decide, and nothing else. It names statements by number, within one cluster: an
entity, an aspect or a key is never among its words (R3).
"""

from __future__ import annotations

from collections.abc import Sequence

from palimpsest.core.aspects.aspect import Json
from palimpsest.core.belief import Version
from palimpsest.core.cluster import Cluster
from palimpsest.core.matter import Matter, Opinions, matter_of
from palimpsest.core.reconcile import RulesJudge, judged
from palimpsest.core.verdict import Judged
from palimpsest.jobs.judging import fence, replies
from palimpsest.jobs.judging.asking import Asking, Form, tokens_of
from palimpsest.jobs.judging.prompts import Prompt

_MOST_OF_ABOUT = 200
Given = Sequence[tuple[Cluster, Sequence[Version]]]


class ModelJudge:
    """Judges clusters; what the model does not answer is not among the verdicts, and stays pending.

    A matter too long to be shown whole is left to the rules, which read all of it.
    """

    def __init__(self, asking: Asking, prompt: Prompt) -> None:
        self.asking = asking
        self.name = f"{asking.model.name} {prompt.tag}"
        self.form: Form[Matter, Opinions] = Form(
            prompt=prompt,
            schema=replies.schema_of(replies.Restated),
            part=_part,
            entries=_entries,
            read=replies.opinions,
        )
        self._rules = RulesJudge()

    def judge(self, clusters: Given) -> list[Judged]:
        """The verdicts on each cluster, but for those that the model says nothing usable of."""
        by_rules, asked, matters = self._parted(clusters)
        found = self._rules.judge(by_rules)
        for position, opinions in self.asking.about(self.form, matters).items():
            cluster, so_far = asked[position]
            found.append(judged(cluster, so_far, opinions, self.name))
        return found

    def by_rules(self, clusters: Given) -> list[Judged]:
        """The verdicts on the clusters that rules decide; the model is asked nothing."""
        return self._rules.judge(self._parted(clusters)[0])

    def matter(self, cluster: Cluster, so_far: Sequence[Version]) -> Matter | None:
        """What the model is to be asked of a cluster; None where the rules judge it."""
        matter = matter_of(cluster, so_far)
        if matter is None or any(len(one.text) > fence.MOST_LETTERS for one in matter.statements):
            return None
        return matter if tokens_of(self.form, matter) <= self.asking.tokens_at_once else None

    def _parted(self, clusters: Given) -> tuple[Given, Given, list[Matter]]:
        """The clusters for the rules, those for the model, and the matters of these."""
        by_rules, asked, matters = [], [], []
        for cluster, so_far in clusters:
            matter = self.matter(cluster, so_far)
            if matter is None:
                by_rules.append((cluster, so_far))
            else:
                asked.append((cluster, so_far))
                matters.append(matter)
        return by_rules, asked, matters


class RulesBefore:
    """The rules, for all that a model is not to be asked."""

    name = "rules"

    def __init__(self, judge: ModelJudge) -> None:
        self._judge = judge

    def judge(self, clusters: Given) -> list[Judged]:
        """The verdicts on the clusters that rules decide."""
        return self._judge.by_rules(clusters)


def _part(matter: Matter) -> dict[str, Json]:
    cluster = matter.cluster
    statements: list[Json] = [{"place": place} | fence.shown(one.text) for place, one in enumerate(matter.statements)]
    about = f"{cluster.aspect} {cluster.key}".strip()[:_MOST_OF_ABOUT]
    return {"about": about, "statements": statements, "asked": list(matter.asked)}


def _entries(matter: Matter) -> int:
    return len(matter.asked)
