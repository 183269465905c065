#!/bin/sh
# Installs, upgrades, removes and purges a package on a copy of this Debian, which is gone afterwards. Needs root.
#   unshare --mount --propagation private sh debian-package.sh FOLDER PACKAGE
set -eu
top=$1
package=$2
mount -t tmpfs -o mode=755 tmpfs "$top"
mkdir "$top/upper" "$top/work" "$top/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$top/upper,workdir=$top/work" "$top/root"
cp "$package" "$top/root/sealift.deb"
for folder in proc dev; do mount --rbind "/$folder" "$top/root/$folder"; done
mount -t tmpfs tmpfs "$top/root/run"
mount -t tmpfs -o mode=1777 tmpfs "$top/root/tmp"
inside() { chroot "$top/root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive "$@"; }

inside dpkg --install /sealift.deb >/dev/null
inside sealift --version
inside deploy-project --help | head -n 1
inside getent passwd sealift-watch | cut -d: -f1
inside stat -c '%U %n' /srv/sealift/plugins
inside systemd-analyze verify /lib/systemd/system/sealift-hub.service /lib/systemd/system/sealift-mirror.service 2>&1 | { grep -i sealift || echo "the units are well-formed"; }
echo "# mine" >>"$top/root/etc/sealift/hub/sealift.yaml"
inside dpkg --force-confdef --force-confold --install /sealift.deb >/dev/null
grep mine "$top/root/etc/sealift/hub/sealift.yaml"
inside dpkg --remove sealift >/dev/null
[ ! -e "$top/root/usr/bin/sealift" ] && echo "removed"
[ -e "$top/root/etc/sealift/hub/sealift.yaml" ] && echo "its configuration is kept"
inside dpkg --purge sealift >/dev/null 2>&1
[ ! -e "$top/root/etc/sealift" ] && echo "purged"
[ -d "$top/root/srv/sealift/plugins" ] && echo "data is left"
