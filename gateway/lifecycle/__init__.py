"""The service over time: when a language is ready, which default policy is in force, what is measured, deleted and recovered.

In reading order: `readiness` (which languages can be run), `default_policy` (read again when capabilities appear), `repinning`
(all sessions under the policy in force), `maintenance` (the tasks that run by themselves), `crash_recovery` (after the service
died), `retention` (deletion by age), `metrics` (counters and gauges).
"""
