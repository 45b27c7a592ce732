"""Run folders, records, the trial store and the ledger of looks."""
