#include "x509.h"
#include "tls.h"
