import { describe, expect, expectTypeOf, test } from 'vitest'
import type * as z from 'zod'
import type {
  AccessToken,
  ExchangeProofRequest,
  IssueRequest,
  Permission,
  ProblemCode,
  RevocationStatus,
} from '../../src/contract/index.ts'
import * as contract from '../../src/contract/index.ts'
import type { DenialCode } from '../../src/credential/denial.ts'
import type { Ppid, Scope, SiteId } from '../../src/credential/ids.ts'

describe('the entry point of the contract', () => {
  test('has what the service, the SDK, the command line and the console are made from', () => {
    expect(Object.keys(contract)).toEqual(
      expect.arrayContaining([
        'endpoints',
        'endpointList',
        'limits',
        'rateLimits',
        'problems',
        'problemBody',
        'challengeFor',
        'toValidationProblem',
        'parseParameters',
        'permissions',
        'entryKinds',
      ]),
    )
  })

  test('names wire types that any client can write down', () => {
    expectTypeOf<ExchangeProofRequest['site_id']>().toEqualTypeOf<string | undefined>()
    expectTypeOf<ExchangeProofRequest['ttl_seconds']>().toEqualTypeOf<number | undefined>()
    expectTypeOf<IssueRequest['scope']>().toEqualTypeOf<string[]>()
    expectTypeOf<AccessToken['token_type']>().toEqualTypeOf<'Bearer'>()
    expectTypeOf<RevocationStatus['as_of']>().toEqualTypeOf<{
      epoch: string
      time: string
      seq?: number | undefined
    }>()
    expectTypeOf<'site:admin'>().toExtend<Permission>()
    expectTypeOf<DenialCode>().toExtend<ProblemCode>()
  })

  test('gives the service ids that need no second reading', () => {
    type Parsed = z.output<typeof contract.endpoints.revoke_user.request.body>
    expectTypeOf<Parsed['site_id']>().toEqualTypeOf<SiteId>()
    expectTypeOf<Parsed['ppid']>().toEqualTypeOf<Ppid | undefined>()
    expectTypeOf<z.output<typeof contract.endpoints.forward_auth.request.query>['scope']>().toEqualTypeOf<
      Scope[]
    >()
    expectTypeOf<
      z.output<typeof contract.endpoints.list_sites.request.query>['limit']
    >().toEqualTypeOf<number>()
  })
})
