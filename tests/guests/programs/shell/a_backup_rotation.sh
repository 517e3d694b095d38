mkdir -p backups
for i in 1 2 3 4 5; do echo "data $i" > "backups/db-2024-01-0$i.sql"; done
keep=3
ls backups | sort -r | tail -n +$((keep + 1)) | while read -r old; do
  echo "removing $old"
  rm "backups/$old"
done
ls backups
tar czf all.tgz backups && tar tzf all.tgz | sort
mkdir restored && tar xzf all.tgz -C restored && cat restored/backups/db-2024-01-05.sql
gzip -c backups/db-2024-01-04.sql | gunzip
md5sum backups/db-2024-01-05.sql | cut -d' ' -f1
