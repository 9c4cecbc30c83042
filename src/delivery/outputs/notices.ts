/** Reports parts of an output without effect at deploy time, not at the first visit. docs/deploying-sites.md: Unsupported features. */

/** Why a part of the output has no effect. Notices do not block the deployment. */
export type Notice = { code: NoticeCode; message: string }

type NoticeCode =
  | 'functions_not_run'
  | 'unsupported_runtime'
  | 'middleware_not_run'
  | 'crons_not_run'
  | 'images_not_optimized'
  | 'challenge_denies'
  | 'header_ignored'
  | 'variables_ignored'
  | 'override_unused'
  | 'pages_not_partial'
  | 'bulk_redirects_unread'
  | 'sites_server_missing'

/** TABLE notice messages. `what`: the affected fields or paths. */
const MESSAGES: Readonly<Record<NoticeCode, (what: string, count: number) => string>> = {
  functions_not_run: (what, count) =>
    `${count === 1 ? 'The function' : `${count} functions`} (${what}) will not run: functions are off on this server. Visitors of these paths get status 501.`,
  unsupported_runtime: (what) =>
    `Berth does not run these functions, now or later: ${what}. Visitors of their paths get status 501.`,
  middleware_not_run: (what) =>
    `The middleware (${what}) will not run: functions are off on this server. Visitors of the paths that it matches get status 501.`,
  crons_not_run: (what, count) =>
    `${count === 1 ? 'The cron job' : `${count} cron jobs`} (${what}) will not run: functions are off on this server.`,
  images_not_optimized: () =>
    'Images will not be resized: this server runs no sandboxed functions. /_vercel/image and /_next/image send them as they are.',
  challenge_denies: (what) =>
    `Berth has no challenge for visitors: the rules (${what}) deny the requests that they match.`,
  header_ignored: (what) => `The server writes these headers itself, so they are ignored: ${what}.`,
  variables_ignored: (what) => `Variables in routes are not replaced: ${what}.`,
  override_unused: (what) => `These overrides of config.json name no file below static/: ${what}.`,
  pages_not_partial: (what) =>
    `Berth sends no page in parts, so functions render these pages whole, at each request: ${what}.`,
  bulk_redirects_unread: (what) =>
    `Bulk redirects are not read: ${what}. Move those that you need to "redirects" in vercel.json.`,
  sites_server_missing: () =>
    'No sites server has asked for deployments in the last minute, so visitors cannot open this one. Start a sites server: docs/deploying.md, Sites server.',
}

const MAX_NAMED = 5

export type NoticeList = { add(code: NoticeCode, what: string): void; list(): Notice[] }

/** Whether functions run, and pictures are resized. */
export type Runs = { functions: boolean; pictures: boolean }

/** TABLE notices → they are left out where this runs. */
const RUN_BY: Partial<Record<NoticeCode, keyof Runs>> = {
  functions_not_run: 'functions',
  middleware_not_run: 'functions',
  crons_not_run: 'functions',
  images_not_optimized: 'pictures',
}

/** TABLE notices → they are left out where this does not run: the paths answer 501. */
const ONLY_WITH: Partial<Record<NoticeCode, keyof Runs>> = { pages_not_partial: 'functions' }

/** Collects notices and merges them into one sentence per kind. `runs`: nothing where it is not said. */
export function createNotices(runs: Runs = { functions: false, pictures: false }): NoticeList {
  const places = new Map<NoticeCode, Set<string>>()
  return {
    add(code, what) {
      const [by, only] = [RUN_BY[code], ONLY_WITH[code]]
      if ((by !== undefined && runs[by]) || (only !== undefined && !runs[only])) return
      const named = places.get(code) ?? new Set()
      places.set(code, named.add(what.slice(0, 100)))
    },
    list: () =>
      [...places].map(([code, named]) => {
        const more = named.size > MAX_NAMED ? [`${named.size - MAX_NAMED} more`] : []
        return { code, message: MESSAGES[code]([...[...named].slice(0, MAX_NAMED), ...more].join(', '), named.size) }
      }),
  }
}
