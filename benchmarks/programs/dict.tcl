set sizes [dict create "the seperate size" 3 "other" 4]
puts [dict get $sizes "the seperate size"]
if {[string match "*an error occured*" "so an error occured here"]} { puts "found" }
puts stderr "The goverment answers after a while."
