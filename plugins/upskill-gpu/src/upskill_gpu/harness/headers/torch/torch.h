#pragma once
#include "upskill_torch.h"
