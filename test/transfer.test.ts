/** Transfer of a project to another account: code, acceptance, lock, the move and what stays behind. decisions.md: Transfer; docs/transfer.md. */
import assert from 'node:assert/strict'
import { type DnsServer, onDns } from './dns-server.ts'
