-- How many files count only for another host?
SELECT count(*) AS files FROM identities WHERE place > 1
