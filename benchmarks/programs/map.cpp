#include <iostream>
#include <map>
#include <string>

int main() {
    std::map<std::string, int> sizes = {{"the seperate size", 3}, {"other", 4}};
    std::string line = "an error occured while reading";
    std::cout << sizes["the seperate size"] << (line.find("an error occured") == 0) << "\n";
    std::cerr << "The goverment answers after a while.\n";
}
