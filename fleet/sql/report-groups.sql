-- How many contents do several files have, how much of it is redundant, and how many contents do several hosts have?
, copied AS (
    SELECT size, count(*) - 1 AS redundant, count(DISTINCT host) AS hosts
    FROM files
    WHERE digest IS NOT NULL
    GROUP BY bucket, size, digest
    HAVING count(*) > 1)
SELECT count(*) AS contents, coalesce(sum(redundant), 0) AS files, coalesce(sum(redundant * size), 0) AS bytes,
    coalesce(sum(CASE WHEN hosts > 1 THEN 1 ELSE 0 END), 0) AS shared
FROM copied
