/*
 * Keeps what a power cut would leave: loaded into a process with LD_PRELOAD, it copies a database file to the folder in POWER_CUT each time the process has it
 * flushed to the disk. What was written and never flushed is not in the copy. Rollback journals are left out: they live only while a file is created.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t copying = PTHREAD_MUTEX_INITIALIZER;

static void keep(int fd) {
  const char *folder = getenv("POWER_CUT");
  char link[64], path[4096], partial[4200], kept[4200], block[65536];
  if (!folder) return;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return;
  path[length] = 0;
  const char *name = strrchr(path, '/');
  if (!name || !strstr(name, ".db") || strstr(name, "-journal")) return;
  pthread_mutex_lock(&copying);
  snprintf(partial, sizeof partial, "%s%s.partial", folder, name);
  snprintf(kept, sizeof kept, "%s%s", folder, name);
  int out = open(partial, O_CREAT | O_TRUNC | O_WRONLY, 0600);
  if (out >= 0) {
    off_t at = 0;
    ssize_t got;
    while ((got = pread(fd, block, sizeof block, at)) > 0) {
      if (write(out, block, got) != got) break;
      at += got;
    }
    close(out);
    if (got == 0) rename(partial, kept);
  }
  pthread_mutex_unlock(&copying);
}

int fdatasync(int fd) {
  static int (*real)(int);
  if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  int result = real(fd);
  if (result == 0) keep(fd);
  return result;
}

int fsync(int fd) {
  static int (*real)(int);
  if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  int result = real(fd);
  if (result == 0) keep(fd);
  return result;
}
