"""What is raised when something asked for cannot be done: one line with the thing, the place and the remedy."""


class FedregError(ValueError):
    """A mistake of the caller, or of the world, that a sentence can explain."""


class Diverged(FedregError):
    """Parameters or a loss stopped being finite numbers."""


class StorageError(FedregError):
    """The disk did not take what was written."""


def not_written(path: object, error: Exception) -> StorageError:
    """The error that says what the disk did not take, and why."""
    reason = getattr(error, "strerror", None) or str(error)
    return StorageError(
        f"cannot write {path}: {reason}; make room or mend its rights and go on (a run by --resume), "
        "or name another place"
    )


def require(truth: bool, otherwise: str) -> None:
    """Nothing if truth holds; else the error that says otherwise."""
    if not truth:
        raise FedregError(otherwise)
