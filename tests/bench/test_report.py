"""The report of campaigns whose findings are known."""

from bench.campaigns import campaign

from stickslip.bench.report import report


def test_a_campaign_without_runs() -> None:
    page = report(campaign({"stack/a": 3}, {}))
    assert "1 problem" in page.title
