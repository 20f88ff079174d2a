-- Why: calls are counted by each node, and a limit holds for all of them together. A directory has one node, which counts in
-- memory: there is nothing to keep here, and the number stands for PostgreSQL's table.

SELECT 1;
