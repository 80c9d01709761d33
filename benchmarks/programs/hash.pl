use strict;
use warnings;
my %sizes = ("the seperate size" => 3);
my $line = "an error occured while reading";
print "found $sizes{'the seperate size'}\n" if $line eq "an error occured while reading";
warn "The goverment answers after a while.\n";
