-- Which entries could the scans not examine, and why?
SELECT host, reason, count(*) AS entries, count(path) AS with_path, min(path) AS first_path
FROM problems
GROUP BY host, reason
ORDER BY host, reason
