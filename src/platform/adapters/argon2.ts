/** argon2id of passwords, as PHC strings. Only platform/adapters/passwords.ts calls it, because it limits how many run. */
import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'

/** OWASP's first recommendation for argon2id: 19 MiB, two passes, one lane. */
const COST = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 }

type Argon2 = Parameters<typeof argon2>

/** Written out: importing node:util for its promisify costs 3 MB and 19 ms at start. */
function derive(algorithm: Argon2[0], parameters: Argon2[1]): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    argon2(algorithm, parameters, (error, tag) => (error ? reject(error) : resolve(tag)))
  })
}

/** Returns the PHC string of a password. */
export async function hashPassword(password: string): Promise<string> {
  const nonce = randomBytes(16)
  const tag = await derive('argon2id', { message: password, nonce, ...COST })
  return `$argon2id$v=19$m=${COST.memory},t=${COST.passes},p=${COST.parallelism}$${unpadded(nonce)}$${unpadded(tag)}`
}

/** A PHC string of the same cost that matches no password, for users without one. */
export const DUMMY_HASH = `$argon2id$v=19$m=${COST.memory},t=${COST.passes},p=${COST.parallelism}$${unpadded(Buffer.alloc(16))}$${unpadded(Buffer.alloc(COST.tagLength))}`

/** Returns whether a password matches a PHC string. */
export async function passwordMatches(password: string, phc: string): Promise<boolean> {
  const [, , , cost = '', nonce = '', tag = ''] = phc.split('$')
  const { m, t, p } = Object.fromEntries(cost.split(',').map((pair) => pair.split('=')))
  const expected = Buffer.from(tag, 'base64')
  const hash = await derive('argon2id', {
    message: password,
    nonce: Buffer.from(nonce, 'base64'),
    memory: Number(m),
    passes: Number(t),
    parallelism: Number(p),
    tagLength: expected.length,
  })
  return timingSafeEqual(hash, expected)
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/={1,2}$/, '')
}
