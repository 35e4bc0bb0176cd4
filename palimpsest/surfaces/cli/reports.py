"""The reports of jobs as lines for people, and the gate of --fail-on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from palimpsest.core.errors import UsageError
from palimpsest.surfaces.cli import diagnostics, output
from palimpsest.surfaces.cli.diagnostics import ExitCode

if TYPE_CHECKING:
    from palimpsest.core.link_list import ShownLink
    from palimpsest.jobs.backfill import BackfillReport
    from palimpsest.jobs.consolidate import ConsolidateReport
    from palimpsest.jobs.dump import DumpReport
    from palimpsest.jobs.judging.asking import Asked
    from palimpsest.jobs.load import LoadReport
    from palimpsest.jobs.publish import PublishReport
    from palimpsest.jobs.scan import ScanReport
    from palimpsest.jobs.unpublish import UnpublishReport
    from palimpsest.jobs.verify import VerifyReport

GATES = ("", "change", "breaking")


def check_gate(fail_on: str) -> None:
    """Raises UsageError for a gate that does not exist."""
    if fail_on not in GATES:
        raise UsageError(f"--fail-on {fail_on!r} is no gate", "write --fail-on change or --fail-on breaking")


def is_tripped(report: ScanReport, fail_on: str) -> bool:
    """Whether the gate trips: on any change, or on a breaking one. First readings and quiet changes never trip it."""
    return bool(report.changes.get("breaking") if fail_on == "breaking" else sum(report.changes.values())) and bool(
        fail_on
    )


def scan_lines(report: ScanReport) -> list[str]:
    """What a scan found and wrote."""
    from palimpsest.core.moment import spoken

    verb = "would be written" if report.dry_run else "written"
    when = f"as of {spoken(report.read_at)}"
    if report.read_at_from == "now":
        when += " (the time of this scan: nothing in it tells a later one)"
    listing = "complete listing" if report.complete else "not a complete listing"
    share = int(report.unchanged_share * 1000) / 10
    percent = f"{share:.0f} %" if share in (0, 100) else f"{share:.1f} %"
    lines = [
        f"{report.source}: {report.entities} entities, {report.observations} observations, {listing}, {when}",
        f"{report.written} {verb}, {report.unchanged} skipped ({percent})",
    ]
    if report.is_first and report.written:
        lines[-1] += ": a first reading is no change"
    elif report.written:
        lines.append(_change_line(report))
    if report.resumed:
        lines.append(f"{report.resumed} of the entities taken from the reading that broke")
    if report.unconfirmed:
        lines.append(f"{report.unconfirmed} held and not stated, unconfirmed: they stay held")
    if report.by_aspect and not report.is_first:
        lines.append("by aspect: " + ", ".join(f"{count} {aspect}" for aspect, count in report.by_aspect.items()))
    lines += _record_lines(report)
    lines += [f"  {line}" for line in report.planned]
    return [*lines, f"in {report.milliseconds / 1000:.1f} s"]


def log(event: str, run: str, **counts: object) -> None:
    """Note what a job did in the log, under its run."""
    from palimpsest import logs

    logs.logger(run).info(event, **counts)


def _change_line(report: ScanReport) -> str:
    changed = sum(report.changes.values())
    by_impact = [
        f"{report.changes[word]} {word}" for word in ("breaking", "notable", "minor") if report.changes.get(word)
    ]
    parts = [f"{changed} change{'' if changed == 1 else 's'}" + (f" ({', '.join(by_impact)})" if by_impact else "")]
    if report.contradicting:
        parts.append(f"{report.contradicting} contradicting a held belief")
    if report.baseline:
        parts.append(f"{report.baseline} first stated")
    if report.quiet:
        parts.append(f"{report.quiet} quiet")
    return ", ".join(parts)


def _record_lines(report: ScanReport) -> list[str]:
    lines = []
    skipped = sum(report.skipped.values())
    if skipped:
        most = sorted(report.skipped.items(), key=lambda item: (-item[1], item[0]))
        named = ", ".join(f"{name} ({count})" for name, count in most[:5])
        more = f" and {len(most) - 5} more kinds" if len(most) > 5 else ""
        lines.append(f"{skipped} of {report.records_read} records are no memory: {named}{more}")
    if report.records_out_of_scope:
        lines.append(f"{report.records_out_of_scope} records out of scope")
    if report.unused_patches:
        named = ", ".join(f"{name} ({count})" for name, count in report.unused_patches.items())
        lines.append(f"patched paths that are no memory: {named}")
    if report.records_failed:
        lines.append(f"{report.records_failed} records could not be read, nothing ended because of them:")
        lines += [f"  {failure}" for failure in report.failures]
    return lines


def backfill_lines(report: BackfillReport) -> list[str]:
    """What a backfill found and wrote."""
    from palimpsest.core.moment import spoken

    verb = "would be written" if report.dry_run else "written"
    since = f", the oldest of {spoken(report.oldest)}" if report.oldest is not None else ""
    lines = [
        f"{report.source}: {report.versions} stored versions of {report.entities} entities",
        f"{report.written} episodes {verb}{since}",
    ]
    if report.by_aspect:
        lines.append("by aspect: " + ", ".join(f"{count} {aspect}" for aspect, count in report.by_aspect.items()))
    if report.gaps:
        named = ", ".join(f"{part} of {count}" for part, count in report.gaps.items())
        lines.append(f"DataHub no longer keeps older versions: {named}")
        lines += [f"  {gap}" for gap in report.gaps_named]
    if report.failed:
        lines.append(f"{report.failed} could not be read, nothing of them was written:")
        lines += [f"  {failure}" for failure in report.failures]
    lines += [f"  {line}" for line in report.planned]
    return [*lines, f"in {report.milliseconds / 1000:.1f} s"]


def consolidate_lines(report: ConsolidateReport) -> list[str]:
    """What a consolidation did."""
    asked = report.asked if report.asked is not None and report.asked.items else None
    if not report.episodes and asked is None:
        waiting = f"{report.left} episodes wait for another consolidator" if report.left else "nothing to consolidate"
        return [waiting]
    lines = []
    if report.chosen:
        lines.append(f"{report.chosen} notes sorted")
    if report.episodes:
        said = ", ".join(f"{count} {kind}" for kind, count in report.verdicts.items())
        verb = "would be consolidated" if report.dry_run else "consolidated"
        lines.append(f"{report.episodes} episodes of {report.entities} entities {verb}: {said}")
    if asked is not None:
        lines += _asked_lines(asked, would=report.dry_run)
    if report.left and not report.dry_run:
        lines.append(f"{report.left} episodes are still pending")
    return lines + [f"  {line}" for line in report.planned]


def _asked_lines(asked: Asked, *, would: bool) -> list[str]:
    """What a model was asked, or would be, what it cost, and what it left."""
    calls = f"{asked.calls} request{'' if asked.calls == 1 else 's'}"
    if would:
        return [f"{asked.model} would be asked about {asked.items} texts, in {calls} of {asked.input_tokens:,} tokens"]
    cost = "" if asked.cost is None else f", ${asked.cost:.4f}"
    tokens = f"{asked.input_tokens:,} tokens read and {asked.output_tokens:,} written"
    lines = [f"{asked.model} answered on {asked.answered} of {asked.items} texts: {calls}, {tokens}{cost}"]
    if asked.left:
        lines.append("left to the next time: " + ", ".join(f"{count} {why}" for why, count in asked.left.items()))
    return lines


def judged(report: ConsolidateReport) -> ExitCode:
    """How a consolidation ends: 5 when the model could not be used or its budget is spent, 1 when answers were none.

    Says on stderr what was wrong. What was left is pending, and is judged the next time.
    """
    asked = report.asked
    if asked is None or report.dry_run:
        return ExitCode.OK
    if asked.problem:
        diagnostics.warn(asked.problem)
        if asked.hint:
            diagnostics.note(f"hint: {asked.hint}")
        return ExitCode.MODEL
    if asked.left:
        diagnostics.warn(asked.bad or f"{asked.model} did not answer as it was asked to")
        return ExitCode.FAILED
    return ExitCode.OK


def verify_lines(report: VerifyReport) -> list[str]:
    """One line a rule, with the number checked and the number broken."""
    rows = []
    for rule in report.rules:
        if rule.checked is None:
            rows.append((rule.rule, "-", "-", f"{rule.title} (not countable: {rule.note})"))
        else:
            rows.append((rule.rule, str(rule.checked), str(rule.broken), rule.title))
    lines = output.table(rows, header=("RULE", "CHECKED", "BROKEN", ""), right=(1, 2))
    for rule in report.rules:
        lines += [f"{rule.rule} broken: {example}" for example in rule.examples]
        if rule.broken > len(rule.examples) > 0:
            lines.append(f"{rule.rule} broken: and {rule.broken - len(rule.examples)} more")
    return lines


def publish_lines(report: PublishReport) -> list[str]:
    """What was published; for a dry run in a running catalog, the lists before and after."""
    verb = "would be written" if report.dry_run else "written"
    restored = sum(change.restored for change in report.changes)
    told = [f"{len(report.changes)} links {verb}", f"{report.unchanged} unchanged"]
    told += [f"{restored} of them restored"] if restored else []
    told += [f"{len(report.kept_deleted)} kept deleted"] if report.kept_deleted else []
    told += [f"{len(report.failed)} failed"] if report.failed else []
    lines = [f"{report.target}: {', '.join(told)}"]
    for change in report.changes:
        before = f" (was: {change.before})" if change.before and change.before != change.label else ""
        restoring = " (restored)" if change.restored else ""
        lines.append(f"  {change.urn}: {change.label}{before}{restoring}")
        if report.dry_run:
            lines += _list_lines(change.list_before, change.list_after)
    lines += [f"  {urn}: deleted by a person, and kept so (--force puts it back)" for urn in report.kept_deleted]
    lines += [f"note: {note}" for note in report.notes]
    lines += [f"failed: {failure.urn}: {failure.why}" for failure in report.failed]
    return lines


def unpublish_lines(report: UnpublishReport) -> list[str]:
    """What was taken away."""
    verb = "would be taken away" if report.dry_run else "taken away"
    lines = [f"{report.target}: {len(report.removed)} links {verb}, {report.unchanged} datasets had none"]
    for removal in report.removed:
        lines.append(f"  {removal.urn}")
        if report.dry_run:
            lines += _list_lines(removal.list_before, removal.list_after)
    lines += [f"note: {note}" for note in report.notes]
    lines += [f"failed: {failure.urn}: {failure.why}" for failure in report.failed]
    return lines


def _list_lines(before: tuple[ShownLink, ...], after: tuple[ShownLink, ...]) -> list[str]:
    """A list of links as it is and as it would be, one link a line."""
    lines = [f"    {'-' if link not in after else ' '} {link.label}  {link.url}" for link in before]
    return lines + [f"    + {link.label}  {link.url}" for link in after if link not in before]


def dump_lines(report: DumpReport, name: str) -> list[str]:
    """What was dumped."""
    lines = [f"{name}: {report.rows} rows of {len(report.tables)} tables, content {report.content[:12]}"]
    if report.lost:
        lines.append(f"{report.lost} {'run' if report.lost == 1 else 'runs'} at work, dumped as broken off")
    return lines


def load_lines(report: LoadReport) -> list[str]:
    """What was loaded, and how it verifies."""
    lines = [
        f"{report.rows} rows loaded of the dump of {report.dumped_at}, content {report.content[:12]}",
        f"{report.edges} edges of lineage made anew",
    ]
    if report.verify.broken:
        return lines + verify_lines(report.verify)
    return [*lines, f"verify: {report.verify.checked} checks, 0 broken"]
