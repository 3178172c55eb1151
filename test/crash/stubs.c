#include "crash.h"
void import_part(struct crash *run) { (void)run; }
void points_part(struct crash *run) { (void)run; }
void damage_part(struct crash *run) { (void)run; }
void power_part(struct crash *run) { (void)run; }
