#!/usr/bin/env node
// The entry is plain JavaScript on purpose: with the compile cache on before the first TypeScript file is met, an existing
// install starts from what was stripped before, and never loads the type stripper (16 MB).
import { enableCompileCache } from 'node:module'

enableCompileCache()
await import('../src/main.ts')
