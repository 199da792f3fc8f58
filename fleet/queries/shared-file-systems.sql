-- Which file systems did several hosts scan?
SELECT magic, fsid, count(DISTINCT host) AS hosts, min(host) AS first_host, max(host) AS last_host
FROM volumes
WHERE fsid <> 0
GROUP BY magic, fsid
HAVING count(DISTINCT host) > 1
ORDER BY magic, fsid
