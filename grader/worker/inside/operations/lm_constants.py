"""Tell the numbers of a module's parameters that cannot learn."""

from typing import Any

from ..arrays import as_array
from ..modules import parameters
from ..submission import Submission
from ..tree import unpack


def run(submission: Submission, arguments: Any, body: bytearray) -> dict[str, Any]:
    """arguments: module -> values, one array for each such parameter, in order."""
    module = unpack(arguments, body, submission.leaf)["module"]
    cap = int(submission.limits["result_bytes"])
    frozen = [parameter for _, parameter in parameters(submission, module) if not parameter.requires_grad]
    return {"values": [as_array(parameter.detach(), cap, 0)[0] for parameter in frozen]}
