from .source import Job as Job
