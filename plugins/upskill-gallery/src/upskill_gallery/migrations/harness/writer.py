"""A session that is in the way of a migration, as the application is. Runs inside the sandbox."""

from upskill_gallery.migrations.harness.postgres import Refused, Session


class Writer:
    """A session of the application that has written to a table and not committed yet."""

    def __init__(self, oid: int) -> None:
        self.oid = oid
        self.holds = False
        self._table = ""
        self._queues = False
        self._session = Session("admin", "app")

    def hold(self, table: str) -> None:
        """Hold the table, which nobody else may have locked."""
        if not self.arrived(self._session.seconds):
            self._queue(table)
            self.arrived(self._session.seconds)

    def let_go(self) -> bool:
        """Let one go by who waits for the table, and write again after it. Whether the table was held at all."""
        if not self.arrived():
            return False
        self.leave()
        self._queue(self._table)
        return True

    def leave(self) -> None:
        """Hold nothing any more."""
        if self.holds:
            self._session.run("ROLLBACK")
            self.holds = False

    def arrived(self, seconds: float = 0.0) -> bool:
        """Whether the table is held; one who queues for it gets some time."""
        if self._queues and self._session.wait(seconds):
            self._queues = False
            try:
                self._session.receive()
                self.holds = True
            except Refused:  # the table has another name now, or is gone
                self._session.run("ROLLBACK")
        return self.holds

    def close(self) -> None:
        """End the session."""
        self._session.close()

    def _queue(self, table: str) -> None:
        self._table = table
        self._queues = True
        self._session.send(f"BEGIN; LOCK TABLE ONLY {table} IN ROW EXCLUSIVE MODE")
