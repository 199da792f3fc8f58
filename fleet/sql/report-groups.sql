-- How many contents exist in several files, how much of that is redundant, and how many exist on several hosts?
, copied AS (
    SELECT size, count(*) - 1 AS redundant, CASE WHEN min(host) <> max(host) THEN 1 ELSE 0 END AS is_shared
    FROM files
    WHERE digest IS NOT NULL
    GROUP BY bucket, size, digest
    HAVING count(*) > 1)
SELECT count(*) AS contents, coalesce(sum(redundant), 0) AS files, coalesce(sum(redundant * size), 0) AS bytes,
    coalesce(sum(is_shared), 0) AS shared
FROM copied
