-- Why: the guard is unsure about some texts. They are stored and found like others, and carry a mark that every reader sees.
ALTER TABLE record ADD COLUMN is_cautioned BOOLEAN NOT NULL DEFAULT FALSE;
