-- A database of version 2, as it was made by the program that knew no tenants, with something in it.

CREATE TABLE palisade_version (version BIGINT NOT NULL, shape TEXT);
CREATE TABLE tenants (
    tenant TEXT NOT NULL PRIMARY KEY,
    moment BIGINT NOT NULL
);
CREATE TABLE sessions (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    agent TEXT NOT NULL,
    name TEXT,
    name_key TEXT,
    pinned_at BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    snippet TEXT,
    attributes TEXT NOT NULL,
    entries BIGINT NOT NULL,
    workspace TEXT,
    parent TEXT,
    chain TEXT NOT NULL,
    ceiling TEXT,
    token BIGINT NOT NULL,
    run TEXT,
    owner TEXT,
    renewed_at BIGINT,
    lasts BIGINT,
    PRIMARY KEY (tenant, id)
);
CREATE UNIQUE INDEX sessions_names ON sessions (tenant, agent, name_key) WHERE name_key IS NOT NULL;
CREATE UNIQUE INDEX sessions_updated ON sessions (tenant, updated_at);
CREATE INDEX sessions_agents ON sessions (tenant, agent, updated_at) WHERE parent IS NULL;
CREATE INDEX sessions_workspaces ON sessions (tenant, workspace, updated_at) WHERE parent IS NULL;
CREATE INDEX sessions_parents ON sessions (tenant, parent, updated_at) WHERE parent IS NOT NULL;
CREATE TABLE entries (
    tenant TEXT NOT NULL,
    session TEXT NOT NULL,
    number BIGINT NOT NULL,
    at BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, session, number),
    FOREIGN KEY (tenant, session) REFERENCES sessions (tenant, id) ON DELETE CASCADE
);
CREATE TABLE runs (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    session TEXT NOT NULL,
    token BIGINT NOT NULL,
    agent TEXT NOT NULL,
    model TEXT NOT NULL,
    parent TEXT,
    parent_call TEXT,
    budget TEXT NOT NULL,
    owner TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    day TEXT NOT NULL,
    ended_at BIGINT,
    ending TEXT,
    steps BIGINT NOT NULL,
    calls BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL,
    cache_written_tokens BIGINT NOT NULL,
    cost_micros BIGINT NOT NULL,
    micros BIGINT NOT NULL,
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, session, token),
    FOREIGN KEY (tenant, session) REFERENCES sessions (tenant, id) ON DELETE CASCADE
);
CREATE INDEX runs_started ON runs (tenant, started_at);
CREATE TABLE calls (
    tenant TEXT NOT NULL,
    run TEXT NOT NULL,
    number BIGINT NOT NULL,
    id TEXT NOT NULL,
    call TEXT NOT NULL,
    idempotent BIGINT NOT NULL,
    result TEXT,
    PRIMARY KEY (tenant, run, number),
    UNIQUE (tenant, run, id),
    FOREIGN KEY (tenant, run) REFERENCES runs (tenant, id) ON DELETE CASCADE
);
CREATE TABLE messages (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    session TEXT NOT NULL,
    moment BIGINT NOT NULL,
    message TEXT,
    PRIMARY KEY (tenant, id),
    FOREIGN KEY (tenant, session) REFERENCES sessions (tenant, id) ON DELETE CASCADE
);
CREATE INDEX messages_sessions ON messages (tenant, session);
CREATE INDEX messages_waiting ON messages (tenant, session, moment) WHERE message IS NOT NULL;
CREATE TABLE audits (
    tenant TEXT NOT NULL,
    at BIGINT NOT NULL,
    session TEXT,
    run TEXT,
    kind TEXT NOT NULL,
    detail TEXT NOT NULL,
    PRIMARY KEY (tenant, at)
);
CREATE INDEX audits_sessions ON audits (tenant, session, at) WHERE session IS NOT NULL;
CREATE TABLE spaces (
    tenant TEXT NOT NULL,
    space TEXT NOT NULL,
    bytes BIGINT NOT NULL,
    PRIMARY KEY (tenant, space)
);
CREATE TABLE space_values (
    tenant TEXT NOT NULL,
    space TEXT NOT NULL,
    key BYTEA NOT NULL,
    value BYTEA NOT NULL,
    PRIMARY KEY (tenant, space, key),
    FOREIGN KEY (tenant, space) REFERENCES spaces (tenant, space) ON DELETE CASCADE
);

INSERT INTO palisade_version (version) VALUES (2);
INSERT INTO tenants (tenant, moment) VALUES ('local', 1700000000000001), ('b', 1700000000000001);
INSERT INTO sessions (tenant, id, agent, name, name_key, created_at, updated_at, snippet, attributes, entries, chain, token, run, owner, renewed_at, lasts)
VALUES ('local', 's', 'clerk', 'River', 'river', 1700000000000000, 1700000000000001, 'hello', '{"x":1}', 1, '[]', 1, 'r1', 'somebody', 1700000000000001, 0),
('b', 's', 'clerk', NULL, NULL, 1700000000000000, 1700000000000001, NULL, '{}', 0, '[]', 1, NULL, NULL, NULL, NULL);
INSERT INTO entries (tenant, session, number, at, body) VALUES ('local', 's', 1, 1700000000000001, '{"entry":"user","text":"hello"}');
INSERT INTO runs (tenant, id, session, token, agent, model, budget, owner, started_at, day, ended_at, ending, steps, calls, input_tokens, output_tokens, cached_tokens, cache_written_tokens, cost_micros, micros)
VALUES ('local', 'r1', 's', 1, 'clerk', 'offline', '{"steps":50,"depth":3,"time":300}', 'somebody', 1700000000000001, '2023-11-14', NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0),
('b', 'r2', 's', 1, 'clerk', 'offline', '{"steps":50,"depth":3,"time":300}', 'somebody', 1700000000000001, '2023-11-14', 1700000000000002, '"answered"', 1, 2, 7, 1, 0, 0, 0, 7);
INSERT INTO audits (tenant, at, kind, detail) VALUES ('local', 1700000000000001, 'denial', '{}');
INSERT INTO spaces (tenant, space, bytes) VALUES ('local', 'plugin', 8);
