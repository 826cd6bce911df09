"""Rules about models whose parameters are sharded over ranks, and about what ranks send each other."""
