"""The doctor tries what it says."""

from click.testing import CliRunner

from grader import doctor
from grader.commands.doctor import command
from grader.worker.levels import Layer, levels_available


def test_each_level_is_started_and_tried():
    findings = doctor.examine()
    assert findings.level == levels_available()[0]
    assert findings.sound
    for one in findings.levels:
        assert one.available == (one.level in levels_available())
        if one.available:
            assert 0 < one.again < one.first
            assert len(one.deeds) == len(doctor.DEEDS)
        if one.level == "sandbox" and one.available:
            assert all(deed.refused for deed in one.deeds), one.deeds
            assert one.isolation.startswith("sandbox: landlock ")


def test_a_sandbox_with_a_hole_is_not_sound():
    hole = doctor.Deed("open a socket", False, "it was allowed")
    findings = doctor.Findings("sandbox", (), (doctor.Examined("sandbox", "sandbox: x", deeds=(hole,)),))
    assert not findings.sound


def test_what_is_missing_is_told_with_the_remedy(monkeypatch):
    lacking = Layer("landlock", False, "the kernel has no Landlock", "Use a newer kernel")
    monkeypatch.setattr("grader.worker.levels.sandbox", lambda python: (lacking,))
    monkeypatch.setattr("grader.doctor.sandbox", lambda python: (lacking,))
    done = CliRunner().invoke(command, [], standalone_mode=False)
    assert done.return_value == 0
    assert "landlock         NO   the kernel has no Landlock\n" in done.output
    assert "-> Use a newer kernel" in done.output
    assert "process  (taken unless --isolation says otherwise)" in done.output
    assert "not to be had: the isolation level 'sandbox' is not to be had here." in done.output
