/** What differs from run to run, made the same: the n-th id of a kind is the n-th, a secret is zeros, a time is the first of 2026. */

const MOMENT = Date.UTC(2026, 0, 1)
/** Tokens, client and webhook secrets, one-time codes, tokens of challenges, sealed values, addresses of deployments: the random part is the last group. */
const SECRETS = [
  /\b(berth_(?:secret_)?)([0-9A-Za-z]{40,43})\b/g,
  // Words have no digit and no two capitals side by side. Of a thousand codes some have no digit either.
  /^()(?=.*(?:\d|[A-Z]{2}))([0-9A-Za-z]{24,64})$/g,
  /(,)([0-9a-f]{20})$/g,
  /^(sealed:|whsec_)(.+)$/g,
  /(\/transfer-request\/)([0-9A-Za-z]{32})/g,
  /(-)([0-9a-z]{9})(?=\.berth\.localhost)/g,
]
const ISO = /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/
const ID = /\b([a-z]{2,5}_)([0-9A-Za-z]{24,28})\b|\b(rk_)([0-9A-Za-z]{12})\b/g

/** A copy in which ids, secrets and times, also inside of texts, are the same in every run. Names of fields stay, but for ids. */
export function stableAnswers(value: unknown, seen = new Map<string, string[]>()): unknown {
  if (typeof value === 'string') return ISO.test(value) ? new Date(MOMENT).toISOString() : stableText(value, seen)
  if (typeof value === 'number') return /^1[6-9]\d{11}$/.test(String(value)) ? MOMENT : value
  if (Array.isArray(value)) return value.map((one) => stableAnswers(one, seen))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([name, inner]) => [nameOf(name, seen), stableAnswers(inner, seen)])
  return Object.fromEntries(entries)
}

/** A field may be named by an id. */
function nameOf(name: string, seen: Map<string, string[]>): string {
  return name.search(ID) === 0 ? stableText(name, seen) : name
}

function stableText(text: string, seen: Map<string, string[]>): string {
  const secretless = SECRETS.reduce(
    (said, secret) => said.replaceAll(secret, (_, kind, random) => kind + '0'.repeat(random.length)),
    text,
  )
  return secretless.replaceAll(ID, (id, longKind, longRandom, keyKind, keyRandom) => {
    const [kind, random] = [longKind ?? keyKind, longRandom ?? keyRandom]
    const known = seen.get(kind) ?? []
    if (!known.includes(id)) seen.set(kind, [...known, id])
    return kind + String(seen.get(kind)!.indexOf(id) + 1).padStart(random.length, '0')
  })
}
