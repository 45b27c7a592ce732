"""Material -> cases -> drafts -> proof; describe, hand-off and feedback."""
