import { describe, expect, test } from "bun:test";
import { StartError } from "../../../src/server/failure.ts";
import { readAllowedNetworks, refusalOf } from "../../../src/server/webhooks/address-guard.ts";

describe("an address", () => {
  test.each([
    ["127.0.0.1", "loopback"],
    ["127.255.255.254", "loopback"],
    ["::1", "loopback"],
    ["[::1]", "loopback"],
    ["::ffff:127.0.0.1", "loopback"],
    ["::ffff:7f00:1", "loopback"],
    ["::127.0.0.1", "loopback"],
    ["64:ff9b::7f00:1", "loopback"],
    ["2002:7f00:1::", "loopback"],
    ["10.1.2.3", "private"],
    ["172.16.0.1", "private"],
    ["172.31.255.255", "private"],
    ["192.168.1.1", "private"],
    ["::ffff:192.168.1.1", "private"],
    ["64:ff9b::a00:1", "private"],
    ["fc00::1", "private"],
    ["fdff:ffff::1", "private"],
    ["100.64.0.1", "carrier"],
    ["100.127.255.255", "carrier"],
    ["192.0.2.1", "reserved"],
    ["198.18.0.1", "reserved"],
    ["2001::1", "reserved"],
    ["2001:db8::1", "reserved"],
    ["4000::1", "reserved"],
    ["64:ff9b:1::1", "unspecified"],
    ["fe80::1%eth0", "no address"],
    ["", "no address"],
    ["2130706433", "no address"],
    ["0x7f000001", "no address"],
    ["017700000001", "no address"],
  ])("%s is refused: %s", (address, why) => {
    expect(refusalOf(address, [])).toContain(why);
  });

  test.each(["8.8.8.8", "1.1.1.1", "172.15.255.255", "172.32.0.0", "100.63.255.255", "100.128.0.0", "2606:4700::1111", "64:ff9b::808:808"])(
    "%s is public",
    (address) => {
      expect(refusalOf(address, [])).toBeUndefined();
    },
  );

  test.each([
    "169.254.169.254",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::",
    "fe80::1",
    "fd00:ec2::254",
    "0.0.0.0",
    "::",
    "224.0.0.1",
    "255.255.255.255",
    "ff02::1",
  ])("%s is refused even when everything is allowed", (address) => {
    expect(refusalOf(address, ["0.0.0.0/0", "::/0"])).toContain("never");
  });

  test("of an allowed network is not refused, in whatever form; others are", () => {
    const allowed = readAllowedNetworks("127.0.0.1, 10.1.0.0/16,fd12::/16");
    for (const address of ["127.0.0.1", "::ffff:127.0.0.1", "10.1.255.1", "fd12::9"]) expect(refusalOf(address, allowed)).toBeUndefined();
    for (const address of ["127.0.0.2", "10.2.0.1", "fd13::9"]) expect(refusalOf(address, allowed)).toBeDefined();
  });
});

test.each(["10.0.0.0/33", "localhost", "10.0.0/8", "10.0.0.0/-1", "*"])("the list of networks refuses %s", (entry) => {
  expect(() => readAllowedNetworks(`127.0.0.1,${entry}`)).toThrow(StartError);
});
