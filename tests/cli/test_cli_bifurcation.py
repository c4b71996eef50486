"""`stickslip bifurcation`: a table, files, and what it refuses."""

import csv

import pytest

SHORT = ("--transient", 2, "--samples", 3, "--h", 2e-3)


def test_a_diagram_of_the_cam_is_printed_written_and_drawn(run, tmp_path):
    out, plot = tmp_path / "cam.csv", tmp_path / "cam.svg"
    result = run(
        "bifurcation", "cam", "--vary", "rpm=300:700:3", "--mass", 1.3, *SHORT, "--out", out, "--plot", plot
    )
    assert (result.code, result.err) == (0, "")
    assert [line.split()[0] for line in result.out.splitlines()[4:7]] == ["300", "500", "700"]
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert [float(row["rpm"]) for row in rows if row["observed"] == "gap [m]"] == [300.0] * 3 + [
        500.0
    ] * 3 + [700.0] * 3
    assert {row["observed"] for row in rows} >= {"gap [m]", "approach [m/s]"}
    assert plot.read_text().startswith("<?xml")


def test_numbers_of_the_state_of_any_scene(run):
    given = ("--period", 0.5, *SHORT, "--observe", "v0", "--observe", "q0", "--anew")
    result = run("bifurcation", "bouncing-ball", "--vary", "e=0.2,0.4", *given)
    assert result.code == 0
    assert "v0: least" in result.out


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("cam", "--vary", "rpm=300:800"), "neither of the form name=first:last:count"),
        (("cam", "--vary", "rmp=300:800:3"), "did you mean 'rpm'"),
        (("cam", "--vary", "rpm=300:800:3", "--rpm", 3), "rpm is both varied and given"),
        (("cam", "--vary", "rpm=300:800:3", "--masss", 3), "did you mean 'mass'"),
        (("cam", "--vary", "rpm=300:800:3", "--observe", "q7"), "cam has q0 to q0"),
        (("cam", "--vary", "rpm=300:800:3", "--observe", "heat"), "cam has gap [m], approach [m/s], q0, v0"),
        (("cam", "--vary", "rpm=300:800:3", "--samples", 0), "samples is 0"),
        (("cam", "--vary", "rpm=-5:800:3"), "rpm is -5"),
        (("bouncing-ball", "--vary", "e=0.1:0.5:3"), "give --period"),
        (("wall-problem", "--vary", "rows=1:3:3", "--period", 1), "is a problem and does not run"),
        (("cams", "--vary", "rpm=300:800:3"), "unknown scene 'cams'"),
    ],
)
def test_refusals(run, given, words):
    run("bifurcation", *given).refuses(words)
