/** A name of labels that DNS can hold, without its final dot, and a port. Under a wildcard anything else would match too. */
const HOST = /^(?=[^:]{1,254}(?::|$))((?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63})\.?(:\d{1,5})?$/i

/** Parses a `Host` header: the lower-case name, and a port such as `:8443`. Returns undefined for an invalid name. */
export function readHost(header: string): { host: string; port: string } | undefined {
  const [, host, port = ''] = HOST.exec(header) ?? []
  return host === undefined ? undefined : { host: host.toLowerCase(), port }
}
