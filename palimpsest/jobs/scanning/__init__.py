"""The stages of a scan: reading into the spool, planning what differs, guarding against mass change, writing."""
