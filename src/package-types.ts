/** The declarations of the npm package. They import nothing (scripts/release/package.ts). docs/testing-your-integration.md. */

export type BerthOptions = {
  /** The port of the API on 127.0.0.1. Default: 0, a free one. */
  port?: number
  /** The directory of the database and the keyring. Default: a new temporary one, deleted at the stop. */
  dataFolder?: string
  /** The log level on stdout. Default: `silent`. */
  logLevel?: 'silent' | 'fatal' | 'error' | 'warn' | 'info' | 'debug'
  /** Further settings of docs/settings.md. They override the defaults for tests. */
  settings?: { readonly [name: `BERTH_${string}`]: string } & { readonly DATABASE_URL?: string }
}

/** A running service, and the credentials of its first start. */
export type Berth = {
  /** The URL of the API, `http://127.0.0.1:port`. */
  readonly url: string
  /** The URL for proxies. Undefined unless BERTH_EDGE_PORT is set. */
  readonly edgeUrl: string | undefined
  /** Grants access to the operator API. */
  readonly operatorToken: string
  /** The API token of the first user, who owns the team. Like the two ids, undefined where the database was first started with another data directory. */
  readonly token: string | undefined
  readonly userId: string | undefined
  readonly teamId: string | undefined
  /**
   * Stops accepting requests, finishes those in flight, and closes the database. `graceMs` (default 0): how long open connections stay for requests in
   * transit. Then incomplete requests are cut off, and all others after 2 s more. A second call waits for the first. Rejects with a TypeError that
   * names an invalid or unknown option; then the service continues.
   */
  stop(options?: { graceMs?: number }): Promise<void>
}

/**
 * Starts Berth within this process, with its own port and database. For tests: without rate limits, webhooks may go to this machine, and no port is
 * open for proxies, unless the settings differ. Rejects with an error that names an invalid or unknown setting, with a TypeError that names such an
 * option, and with code EADDRINUSE for a port in use.
 */
export type StartBerth = (options?: BerthOptions) => Promise<Berth>
