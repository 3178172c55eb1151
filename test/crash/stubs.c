#include "crash.h"
void power_part(struct crash *run) { (void)run; }
