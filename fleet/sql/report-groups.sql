-- How many contents exist in several files, how much of that is redundant, and how many exist on several hosts?
, copied AS (
    SELECT size, count(*) - 1 AS redundant, count(DISTINCT host) AS hosts
    FROM files
    WHERE digest IS NOT NULL
    GROUP BY bucket, size, digest
    HAVING count(*) > 1)
SELECT count(*) AS contents, coalesce(sum(redundant), 0) AS files, coalesce(sum(redundant * size), 0) AS bytes,
    coalesce(sum(CASE WHEN hosts > 1 THEN 1 ELSE 0 END), 0) AS shared
FROM copied
