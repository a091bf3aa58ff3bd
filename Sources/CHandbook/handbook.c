#include "handbook.h"

// C23's; clang takes it in any version of the language.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char contract[] = {
#embed "openapi.yaml"
};

static const unsigned char contract_json[] = {
#embed "openapi.json"
};

static const unsigned char specs_schema[] = {
#embed "specs.schema.json"
};

static const unsigned char concepts[] = {
#embed "pages/concepts.md"
};

static const unsigned char tour[] = {
#embed "pages/tour.md"
};

static const unsigned char guard_rails[] = {
#embed "pages/guard-rails.md"
};

static const unsigned char rotations[] = {
#embed "pages/rotations.md"
};

static const unsigned char renewals[] = {
#embed "pages/renewals.md"
};

static const unsigned char rollouts[] = {
#embed "pages/rollouts.md"
};

static const unsigned char kill_switch[] = {
#embed "pages/kill-switch.md"
};

static const unsigned char telemetry[] = {
#embed "pages/telemetry.md"
};

static const unsigned char notifications[] = {
#embed "pages/notifications.md"
};

static const unsigned char client_integration[] = {
#embed "pages/client-integration.md"
};
static const unsigned char client_library[] = {
#embed "pages/client-library.md"
};
static const unsigned char roots[] = {
#embed "pages/roots.md"
};
static const unsigned char client_migration[] = {
#embed "pages/client-migration.md"
};

static const unsigned char deployed_clients[] = {
#embed "pages/deployed-clients.md"
};

static const unsigned char imports[] = {
#embed "pages/imports.md"
};

static const unsigned char declared_state[] = {
#embed "pages/declared-state.md"
};

static const unsigned char deployment[] = {
#embed "pages/deployment.md"
};

static const unsigned char edge[] = {
#embed "pages/edge.md"
};

static const unsigned char caching[] = {
#embed "pages/caching.md"
};

static const unsigned char packages[] = {
#embed "pages/packages.md"
};

static const unsigned char containers[] = {
#embed "pages/containers.md"
};

static const unsigned char high_availability[] = {
#embed "pages/high-availability.md"
};

static const unsigned char regions[] = {
#embed "pages/regions.md"
};

static const unsigned char access[] = {
#embed "pages/access.md"
};

static const unsigned char sign_in[] = {
#embed "pages/sign-in.md"
};
static const unsigned char changes[] = {
#embed "pages/changes.md"
};

static const unsigned char command_line[] = {
#embed "pages/command-line.md"
};

static const unsigned char configuration[] = {
#embed "pages/configuration.md"
};

static const unsigned char backup[] = {
#embed "pages/backup.md"
};

static const unsigned char retention[] = {
#embed "pages/retention.md"
};

static const unsigned char recovery[] = {
#embed "pages/recovery.md"
};

static const unsigned char transparency_log[] = {
#embed "pages/transparency-log.md"
};

static const unsigned char upgrades[] = {
#embed "pages/upgrades.md"
};

static const unsigned char problems[] = {
#embed "pages/problems.md"
};

static const unsigned char log_lines[] = {
#embed "pages/log-lines.md"
};

static const unsigned char alerts[] = {
#embed "pages/alerts.md"
};

static const unsigned char metrics[] = {
#embed "pages/metrics.md"
};

static const unsigned char traces[] = {
#embed "pages/traces.md"
};

static const unsigned char architecture[] = {
#embed "pages/architecture.md"
};

static const unsigned char threat_model[] = {
#embed "pages/threat-model.md"
};

static const unsigned char performance[] = {
#embed "pages/performance.md"
};

// The pages in the order of reading. A test compares them with the files.
static const struct handbook_text pages[] = {
    {"concepts", concepts, sizeof concepts},
    {"tour", tour, sizeof tour},
    {"guard-rails", guard_rails, sizeof guard_rails},
    {"rotations", rotations, sizeof rotations},
    {"renewals", renewals, sizeof renewals},
    {"rollouts", rollouts, sizeof rollouts},
    {"kill-switch", kill_switch, sizeof kill_switch},
    {"telemetry", telemetry, sizeof telemetry},
    {"notifications", notifications, sizeof notifications},
    {"client-integration", client_integration, sizeof client_integration},
    {"client-library", client_library, sizeof client_library},
    {"client-migration", client_migration, sizeof client_migration},
    {"roots", roots, sizeof roots},
    {"deployed-clients", deployed_clients, sizeof deployed_clients},
    {"imports", imports, sizeof imports},
    {"declared-state", declared_state, sizeof declared_state},
    {"deployment", deployment, sizeof deployment},
    {"edge", edge, sizeof edge},
    {"caching", caching, sizeof caching},
    {"packages", packages, sizeof packages},
    {"containers", containers, sizeof containers},
    {"high-availability", high_availability, sizeof high_availability},
    {"regions", regions, sizeof regions},
    {"access", access, sizeof access},
    {"sign-in", sign_in, sizeof sign_in},
    {"changes", changes, sizeof changes},
    {"command-line", command_line, sizeof command_line},
    {"configuration", configuration, sizeof configuration},
    {"backup", backup, sizeof backup},
    {"recovery", recovery, sizeof recovery},
    {"retention", retention, sizeof retention},
    {"transparency-log", transparency_log, sizeof transparency_log},
    {"upgrades", upgrades, sizeof upgrades},
    {"problems", problems, sizeof problems},
    {"log-lines", log_lines, sizeof log_lines},
    {"metrics", metrics, sizeof metrics},
    {"traces", traces, sizeof traces},
    {"alerts", alerts, sizeof alerts},
    {"architecture", architecture, sizeof architecture},
    {"threat-model", threat_model, sizeof threat_model},
    {"performance", performance, sizeof performance},
};

struct handbook_text handbook_contract(void) {
    return (struct handbook_text){"openapi.yaml", contract, sizeof contract};
}

struct handbook_text handbook_contract_json(void) {
    return (struct handbook_text){"openapi.json", contract_json, sizeof contract_json};
}

struct handbook_text handbook_specs_schema(void) {
    return (struct handbook_text){"specs.schema.json", specs_schema, sizeof specs_schema};
}

size_t handbook_page_count(void) {
    return sizeof pages / sizeof pages[0];
}

struct handbook_text handbook_page(size_t index) {
    return pages[index];
}
