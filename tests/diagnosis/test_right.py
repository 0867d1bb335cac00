"""Right submissions, however they are written, get full marks and no name."""

import pytest

from tests.diagnosis.measure import grade, spec
from tests.right.hand_decoder import HERE

RIGHT = sorted(path.stem for path in HERE.glob("*.py") if not path.stem.startswith("_"))


@pytest.mark.parametrize("name", RIGHT)
def test_full_marks_and_no_name(name, warm):
    outcome = grade((HERE / f"{name}.py").read_text("utf-8"), warm)
    assert outcome.lost == set()
    assert outcome.named == set()
    assert sum(outcome.points().values()) == pytest.approx(spec().max_score)
