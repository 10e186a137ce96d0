CREATE TABLE a (b int);

CREATE OR REPLACE VIEW "v" AS
SELECT 1;

-- TelemetryFoo BarMessage
INSERT INTO a VALUES ('x''y');
