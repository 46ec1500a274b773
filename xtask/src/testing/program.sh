#!/bin/sh
# Stands in for a program of a made-up machine: tests link to this file by the
# program's name and put what it should do into <name>.does beside the link.
# (A script written by a test and run at once can fail with "text file busy".)
. "$0.does"
