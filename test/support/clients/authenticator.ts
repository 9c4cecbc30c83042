/** A passkey authenticator in software (WebAuthn 6): it registers and asserts passkeys, with forged fields on request. */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import type { PageResponse } from './browser-client.ts'

const UP = 1
const UV = 4
const NEW_KEY = 0x40

type Passkey = { id: Buffer; key: KeyObject; counter: number; userHandle: string }

/** The fields to forge. */
export type ForgedFields = {
  origin?: string
  rpId?: string
  challenge?: string
  type?: string
  /** Of a new passkey. */
  id?: Buffer
  /** Whether another site had the page in a frame. */
  crossOrigin?: boolean
  verified?: boolean
  counter?: number
  userHandle?: string
  spoilSignature?: boolean
}

export type Authenticator = {
  /** Creates a passkey, and returns the registration for the form. */
  create(options: string, lies?: ForgedFields): string
  /** Returns an assertion with the latest passkey. */
  get(options: string, lies?: ForgedFields): string
  /** The id of the latest passkey, in base64url. */
  id(): string
}

/** `counts`: whether it reports its signature counter. */
export function openAuthenticator(origin: string, counts = true): Authenticator {
  const rpId = new URL(origin).hostname
  let passkey: Passkey | undefined
  const clientData = (type: string, challenge: string, lies: ForgedFields) =>
    Buffer.from(
      JSON.stringify({
        type: lies.type ?? type,
        challenge: lies.challenge ?? challenge,
        origin: lies.origin ?? origin,
        crossOrigin: lies.crossOrigin ?? false,
      }),
    )
  const head = (lies: ForgedFields, flags: number, counter: number) => {
    const bytes = Buffer.alloc(37)
    sha256(lies.rpId ?? rpId).copy(bytes)
    bytes[32] = flags | UP | ((lies.verified ?? true) ? UV : 0)
    bytes.writeUInt32BE(lies.counter ?? counter, 33)
    return bytes
  }
  return {
    id: () => passkey!.id.toString('base64url'),
    create(text, lies = {}) {
      const options = JSON.parse(text)
      const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      passkey = { id: lies.id ?? randomBytes(32), key: privateKey, counter: 0, userHandle: options.user.id }
      const { x, y } = publicKey.export({ format: 'jwk' })
      const cose = map([1, 2], [3, -7], [-1, 1], [-2, Buffer.from(x!, 'base64url')], [-3, Buffer.from(y!, 'base64url')])
      const attested = Buffer.concat([Buffer.alloc(16), Buffer.from([0, 32]), passkey.id, cose])
      const authData = Buffer.concat([head(lies, NEW_KEY, 0), attested])
      const attestation = map(['fmt', 'none'], ['attStmt', map()], ['authData', authData])
      return answer(passkey, {
        clientDataJSON: clientData('webauthn.create', options.challenge, lies).toString('base64url'),
        attestationObject: attestation.toString('base64url'),
        transports: ['internal'],
      })
    },
    get(text, lies = {}) {
      const { challenge } = JSON.parse(text)
      if (counts) passkey!.counter++
      const data = clientData('webauthn.get', challenge, lies)
      const authData = head(lies, 0, passkey!.counter)
      const signature = sign('sha256', Buffer.concat([authData, sha256(data)]), passkey!.key)
      if (lies.spoilSignature) signature[signature.length - 1]! ^= 1
      return answer(passkey!, {
        clientDataJSON: data.toString('base64url'),
        authenticatorData: authData.toString('base64url'),
        signature: signature.toString('base64url'),
        userHandle: lies.userHandle ?? passkey!.userHandle,
      })
    },
  }
}

/** The passkey options of a page, from its one passkey form, as JSON. */
export function optionsIn(page: PageResponse): string {
  const found = /data-options="([^"]+)"/.exec(page.text)
  if (found === null) throw new Error(`no passkey form: ${page.status} ${page.location}`)
  return found[1]!.replaceAll('&quot;', '"').replaceAll('&amp;', '&')
}

function answer({ id }: Passkey, response: object): string {
  const text = id.toString('base64url')
  return JSON.stringify({ id: text, rawId: text, type: 'public-key', clientExtensionResults: {}, response })
}

function sha256(data: string | Buffer): Buffer {
  return createHash('sha256').update(data).digest()
}

type Encoded = { cbor: Buffer }
type Value = number | string | Buffer | (Buffer & Encoded)

/** A map in CBOR (RFC 8949). A map within it is there already. */
function map(...pairs: [Value, Value][]): Buffer & Encoded {
  const bytes = Buffer.concat([begin(5, pairs.length), ...pairs.flat().map(encode)])
  return Object.assign(bytes, { cbor: bytes })
}

function encode(value: Value): Buffer {
  if (typeof value === 'number') return value < 0 ? begin(1, -1 - value) : begin(0, value)
  if (typeof value === 'string') return Buffer.concat([begin(3, Buffer.byteLength(value)), Buffer.from(value)])
  return 'cbor' in value ? value : Buffer.concat([begin(2, value.length), value])
}

function begin(kind: number, size: number): Buffer {
  if (size < 24) return Buffer.from([(kind << 5) | size])
  return size < 256 ? Buffer.from([(kind << 5) | 24, size]) : Buffer.from([(kind << 5) | 25, size >> 8, size & 255])
}
