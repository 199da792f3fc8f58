-- How much disk space could each host free, and how many contents have several inodes?
SELECT h.host, count(c.content_id) AS contents, coalesce(sum(c.inodes), 0) AS inodes,
    coalesce(sum(c.reclaimable), 0) AS reclaimable
FROM hosts h
LEFT JOIN contents c ON c.host = h.host AND c.export_id = h.export_id
GROUP BY h.host
ORDER BY reclaimable DESC, h.host
