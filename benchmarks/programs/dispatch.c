#include <stdio.h>
#include <string.h>

static int one(void) { return 1; }
static int two(void) { return 2; }
static const struct { const char *name; int (*run)(void); } table[] = {
    {"we recieve it", one}, {"the seperate one", two}};

int main(void) {
    const char *asked = "the seperate one";
    for (int n = 0; n < 2; n++)
        if (!strcmp(asked, table[n].name)) printf("ran %d\n", table[n].run());
    if (strstr("it is said that an error occured", "an error occured")) puts("found");
    fprintf(stderr, "The goverment answers after a while.\n");
}
