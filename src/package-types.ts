/** What the npm package gives to a program that imports it. This file is its declarations, so it imports nothing (scripts/release/package.ts). docs/testing-your-integration.md. */

export type BerthOptions = {
  /** The port of the API on 127.0.0.1; 0, a free one, where it is not said. */
  port?: number
  /** The folder of the store and the keyring. Where it is not said: a new one among the temporary folders, which goes at the stop. */
  dataFolder?: string
  /** What is logged to stdout: `silent` where it is not said. */
  logLevel?: 'silent' | 'fatal' | 'error' | 'warn' | 'info' | 'debug'
  /** Further settings, by the names and with the values of docs/settings.md. They count before the choices that are made for tests. */
  settings?: { readonly [name: `BERTH_${string}`]: string } & { readonly DATABASE_URL?: string }
}

/** A running service, and what its first start made. */
export type Berth = {
  /** Where the API is, as `http://127.0.0.1:port`. */
  readonly url: string
  /** Where proxies ask. Undefined unless BERTH_EDGE_PORT is among the settings. */
  readonly edgeUrl: string | undefined
  /** Opens the operator API. */
  readonly operatorToken: string
  /** Opens the API as the first person, who owns the team. Undefined, as the two ids, where the store was first started with another data folder. */
  readonly token: string | undefined
  readonly userId: string | undefined
  readonly teamId: string | undefined
  /**
   * Takes no new request, lets those in flight end, and closes the store. `graceMs`: how long open connections stay for requests that are
   * on their way on them; 0 where it is not said. Then a request that has not arrived whole is cut off, and after 2 s more every other
   * one too. A second call waits for the first. Rejects with a TypeError that names an option that is wrong or that it does not have; then the
   * service goes on.
   */
  stop(options?: { graceMs?: number }): Promise<void>
}

/**
 * Starts Berth within this process, with a port and a store of its own. For tests: rate limits are off, webhooks may go to this machine,
 * and no port is opened for proxies, unless the settings say otherwise. Rejects with an error that names a setting that is wrong or that
 * Berth does not know, and with a TypeError that names such an option. Where another program has the port, the error says so and has the code
 * EADDRINUSE.
 */
export type StartBerth = (options?: BerthOptions) => Promise<Berth>
