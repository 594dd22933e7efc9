-- What the program that knew tenants first made of a database of version 2.

ALTER TABLE tenants ADD COLUMN name TEXT;
ALTER TABLE tenants ADD COLUMN settings TEXT;
ALTER TABLE tenants ADD COLUMN created_at BIGINT;
ALTER TABLE tenants ADD COLUMN suspended_at BIGINT;
ALTER TABLE tenants ADD COLUMN deleted_at BIGINT;
CREATE TABLE api_keys (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    hash BYTEA NOT NULL UNIQUE,
    label TEXT NOT NULL,
    scopes TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT,
    last_used_at BIGINT,
    PRIMARY KEY (tenant, id)
);
CREATE TABLE events (
    tenant TEXT NOT NULL,
    run TEXT NOT NULL,
    number BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, run, number),
    FOREIGN KEY (tenant, run) REFERENCES runs (tenant, id) ON DELETE CASCADE
);
CREATE TABLE idempotency (
    tenant TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint BYTEA NOT NULL,
    owner TEXT NOT NULL,
    at BIGINT NOT NULL,
    lasts BIGINT NOT NULL,
    ends_at BIGINT NOT NULL,
    answer TEXT,
    PRIMARY KEY (tenant, key)
);
CREATE INDEX idempotency_ends ON idempotency (tenant, ends_at);
CREATE INDEX runs_open ON runs (tenant, id) WHERE ended_at IS NULL;
UPDATE tenants SET name = 'local', settings = '{}', created_at = 1700000000000001 WHERE tenant = 'local';
UPDATE palisade_version SET version = 3;
