-- How old are the exports, and how were names and digests exported?
SELECT host, export_id, created_ms, lop, names, coalesce(key_id, 'none') AS key_id
FROM hosts
ORDER BY created_ms, host
