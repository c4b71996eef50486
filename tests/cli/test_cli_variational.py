"""`stickslip run --scheme variational` of scenes of bodies."""


def test_a_scene_whose_gaps_have_closed_forms_runs(run):
    result = run("run", "box-incline", "--scheme", "variational", "--until", 0.01)
    assert result.code in (0, 1)  # the scene's facts are those of another scheme
    assert "variational-bodies" in result.out
    assert "0 missed their tolerance" in result.out


def test_boxes_on_boxes_run(run):
    result = run("run", "stack", "--bodies", 2, "--scheme", "variational", "--until", 0.01)
    assert "0 missed their tolerance" in result.out


def test_bad_options_are_refused_in_a_sentence(run):
    run("run", "box-incline", "--scheme", "variational", "--contact", "circle").refuses("contact", "circle")


def test_it_is_listed(run):
    assert "variational-bodies" in run("schemes").out
